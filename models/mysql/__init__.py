"""What all products around MySQL and MariaDB servers share."""
