# Savant in a container: docker run -i --rm -v "$PWD:/project" savant
# The program is static; the image adds git, which the git and context tools call.
FROM golang:1.26-alpine AS build
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /savant ./cmd/savant

FROM alpine:3
ARG OWNER=OWNER
LABEL io.modelcontextprotocol.server.name="io.github.${OWNER}/savant"
RUN apk add --no-cache ca-certificates git
COPY --from=build /savant /usr/local/bin/savant
ENV SAVANT_PATH=/project MCP_SERVICE=think,git,context,ci,review,agent
WORKDIR /project
# No root. Give the owner of the project with --user "$(id -u):$(id -g)", so that
# Savant may write its runs to .savant/.
USER 65532:65532
ENTRYPOINT ["savant"]
CMD ["mcp"]
