"""What every question is made of: answers, evidence, points, tables."""
