"""A recording as a folder of Parquet files: what was read is saved, and read again without the captures.

```text
dataset/
├── dataset.json                                                what it is: written last
├── captures/part-0.parquet                                     the files that were read
├── notes/…  cases/…  statement_texts/…  tag_texts/…  other_connections/…
├── connections/day=2026-11-22/server=10.0.0.5%3A3306/part-0.parquet
├── exchanges/day=2026-11-22/server=10.0.0.5%3A3306/part-0.parquet
├── exchanges/day=2026-11-22/server=several/part-0.parquet     servers beyond the room for files: `places`
├── rtt_samples/…
├── clock_readings/…
└── segments/…
```

`layout` says what lies where, `manifest` what `dataset.json` says, `writing` saves, `loading` reads: see
docs/long-recordings.md.
"""
