# One image for both sides: `kernelgate serve` by default, `kernelgate runner` on a node without a GPU.
# Nodes with a card run on the card's own system, where driver and toolchain are.
FROM python:3.12-slim-bookworm

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bubblewrap g++ git \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/kernelgate
COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable .

RUN useradd --create-home --uid 10001 kernelgate && install -d -o kernelgate /data
USER kernelgate
WORKDIR /data
ENTRYPOINT ["kernelgate"]
CMD ["serve"]
