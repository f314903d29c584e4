! Two threads: the first one computes three times as long as the second one, which waits for it at
! the end of the parallel region. Usage: team STEPS
module fluxes
  implicit none
  integer(8) :: total = 0
contains
  subroutine work(n)
    integer, intent(in) :: n
    integer(8) :: x, i
    x = 88172645463325252_8
    do i = 1, int(n, 8) * 1000_8
      x = ieor(x, ishft(x, 13))
      x = ieor(x, ishft(x, -7))
      x = ieor(x, ishft(x, 17))
    end do
    !$omp atomic
    total = total + x
  end subroutine work

  subroutine long_part()
    call work(9000)
  end subroutine long_part

  subroutine short_part()
    call work(3000)
  end subroutine short_part
end module fluxes

program team
  use omp_lib
  use fluxes
  implicit none
  character(len=16) :: word
  integer :: step, steps
  call get_command_argument(1, word)
  read (word, *) steps
  do step = 1, steps
    !$omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) then
      call long_part()
    else
      call short_part()
    end if
    !$omp end parallel
  end do
  print *, total
end program team
