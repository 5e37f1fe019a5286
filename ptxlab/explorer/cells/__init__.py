"""What is typed or pasted into cells: what it means, and why it is refused."""
