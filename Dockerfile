# opennandlab in a container, built from this source tree:
#
#     docker build -t opennandlab .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" opennandlab benchmark -w W2 -c tlc_standard -o result.json
#
# The first stage has the compilers and makes the wheel; the second has Python and the wheel alone.
FROM rust:1-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /venv && /venv/bin/pip install 'maturin>=1.12,<2'
WORKDIR /source
COPY . .
RUN /venv/bin/maturin build --release --locked --out /dist

FROM python:3.13-slim-bookworm
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(echo /dist/*.whl)[all]" && rm -r /dist
# A user without a home of its own may still draw, and the store of runs stays in the mounted folder.
ENV HOME=/tmp XDG_DATA_HOME=/data
USER 1000:1000
WORKDIR /data
ENTRYPOINT ["opennandlab"]
CMD ["--help"]
