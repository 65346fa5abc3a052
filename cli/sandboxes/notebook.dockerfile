# Python with ipykernel, for the tool ipython. An image that has them stays as it is.
RUN set -e; \
    needs() { echo "deft: $1" >&2; exit 1; }; \
    offline='the packages cannot be downloaded: the steps run in the default network of the engine, which must reach them; or build elsewhere from the Dockerfile, which is printed without --tag'; \
    if python3 -c 'import ipykernel' 2>/dev/null; then exit 0; fi; \
    if python3 -m pip install --no-cache-dir ipykernel 2>/dev/null; then exit 0; fi; \
    if command -v apk >/dev/null; then \
        apk add --no-cache py3-ipykernel || needs "$offline"; \
    elif command -v dnf >/dev/null; then \
        dnf install -y python3-ipykernel || needs "$offline"; \
        dnf clean all; \
    elif command -v apt-get >/dev/null; then \
        apt-get update -o APT::Update::Error-Mode=any || needs "$offline"; \
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-ipykernel || needs "$offline"; \
        rm -rf /var/lib/apt/lists/*; \
    else \
        needs 'this base has no apt-get, apk or dnf: take one of Debian, Alpine or Fedora, or one of Python'; \
    fi; \
    python3 -c 'import ipykernel'
