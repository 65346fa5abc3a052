# Chromium and fonts, for the browser tools. An image that has one stays as it is.
RUN set -e; \
    needs() { echo "deft: $1" >&2; exit 1; }; \
    offline='the packages cannot be downloaded: the steps run in the default network of the engine, which must reach them; or build elsewhere from the Dockerfile, which is printed without --tag'; \
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do \
        if "$name" --version 2>/dev/null; then exit 0; fi; \
    done; \
    if command -v apk >/dev/null; then \
        apk add --no-cache chromium font-liberation || needs "$offline"; \
        chromium --version; \
    elif command -v dnf >/dev/null; then \
        dnf install -y chromium liberation-fonts || needs "$offline"; \
        dnf clean all; \
        chromium-browser --version; \
    elif command -v apt-get >/dev/null; then \
        apt-get update -o APT::Update::Error-Mode=any || needs "$offline"; \
        apt-cache show chromium-headless-shell >/dev/null 2>&1 || needs 'this base has no package chromium-headless-shell: take one of Debian 12 or later'; \
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates chromium-headless-shell fonts-liberation || needs "$offline"; \
        rm -rf /var/lib/apt/lists/*; \
        chromium-headless-shell --version; \
    else \
        needs 'this base has no apt-get, apk or dnf: take one of Debian, Alpine or Fedora, or one that has Chromium'; \
    fi
