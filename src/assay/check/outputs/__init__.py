"""What a check prints and writes: the line, evidence, JSON, JUnit XML, a textfile."""
