! Marks the steps of a Fortran program for `assay watch`:
!
!     use assay
!     ...
!     call assay_heartbeat()      ! once in each step, at its end
!
! Compile it with heartbeat.c:
!
!     cc -O2 -c heartbeat.c
!     gfortran -O2 heartbeat.f90 heartbeat.o program.f90
module assay
  implicit none
  private
  public :: assay_heartbeat

  interface
    ! Marks the end of a step; only tests a variable if assay watch doesn't follow the program.
    subroutine assay_heartbeat() bind(c, name="assay_heartbeat")
    end subroutine assay_heartbeat
  end interface
end module assay
