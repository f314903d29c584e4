"""The timeline of a trace: one HTML file of limited size, with previews and detailed windows."""
