! Two functions with 3 : 1 of the work on each of the ranks. Usage: solve STEPS
module physics
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
    total = total + x
  end subroutine work

  subroutine advance(n)
    integer, intent(in) :: n
    call work(3 * n)
  end subroutine advance

  subroutine diagnose(n)
    integer, intent(in) :: n
    call work(n)
  end subroutine diagnose
end module physics

program solve
  use mpi
  use physics
  implicit none
  character(len=16) :: word
  integer :: step, steps, error
  integer(8) :: everywhere
  call get_command_argument(1, word)
  read (word, *) steps
  call MPI_Init(error)
  do step = 1, steps
    call advance(30)
    call diagnose(30)
  end do
  call MPI_Allreduce(total, everywhere, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program solve
