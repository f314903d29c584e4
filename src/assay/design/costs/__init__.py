"""What a cluster costs while it is used."""
