"""What all questions share: answers, evidence, points and tables."""
