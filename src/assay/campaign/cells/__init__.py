"""What is known of cells and their launches so far: state, cost, time."""
