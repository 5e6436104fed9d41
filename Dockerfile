FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git, so that the binary knows its version.
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/snip ./cmd/snip
# A volume that is made from this directory belongs to its owner.
RUN mkdir /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# For the health check. Called by this name, busybox is wget and nothing else.
COPY --from=busybox:musl /bin/busybox /bin/wget
COPY --from=build /out/snip /bin/snip
COPY --from=build --chown=65532:65532 /out/data /data

USER 65532:65532
ENV SNIP_DATA_DIR=/data SNIP_ADDR=:8080 SNIP_METRICS_ADDR=:8081
VOLUME /data
EXPOSE 8080 8081
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s CMD ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8081/readyz"]
ENTRYPOINT ["snip"]
