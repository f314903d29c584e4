"""What all questions share: answers, evidence, points, tables."""
