# Builds the Debian package (`make deb`) and installs it: the image has what the package has, and nothing else.
#
#   docker build -t latchkey .
#   docker run -p 127.0.0.1:3400:3400 -p 127.0.0.1:3401:3401 -v latchkey:/var/lib/latchkey latchkey
FROM node:22-bookworm-slim AS scripts
WORKDIR /src
COPY scripts scripts
COPY packaging packaging
RUN scripts/browser-scripts.sh /tmp/browser-scripts

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# The archives were fetched above. Their digests are checked again.
COPY --from=scripts /src/target/browser-scripts target/browser-scripts
RUN make deb

FROM debian:bookworm-slim
COPY --from=build /src/target/deb/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb \
    && rm -rf /tmp/*.deb /var/lib/apt/lists/*
USER latchkey
WORKDIR /var/lib/latchkey
VOLUME /var/lib/latchkey
# A container is reached from outside of it; the package listens to its own machine only.
ENV LATCHKEY_CONFIG=/etc/latchkey/latchkey.toml LATCHKEY_LISTEN=0.0.0.0:3400 LATCHKEY_FRONTEND_LISTEN=0.0.0.0:3401 \
    LATCHKEY_API_URL=http://127.0.0.1:3400 LATCHKEY_FRONTEND_API=127.0.0.1:3401 LATCHKEY_FRONTEND_URL=http://localhost:3401
EXPOSE 3400 3401
ENTRYPOINT ["/usr/bin/latchkey"]
CMD ["serve"]
