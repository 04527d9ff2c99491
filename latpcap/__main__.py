"""`python -m latpcap` is `latpcap`."""

from latpcap.cli import main

if __name__ == "__main__":
    main()
