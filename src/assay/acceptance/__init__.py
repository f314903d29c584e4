"""Acceptance of machines: what was promised, what was measured, who bears which risk."""
