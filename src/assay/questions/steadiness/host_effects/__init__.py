"""Host effects: hosts that slow the sets that contain them."""
