"""Other ways to spend the money: later, or on rented nodes."""
