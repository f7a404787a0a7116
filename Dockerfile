# Savant in a container:
#   docker run -i --rm --user "$(id -u):$(id -g)" -v "$PWD:/project" -v savant:/configuration savant
# The program is static; the image adds git, which the git and context tools call. What the
# commands of .savant/ci.yaml start, such as go or npm, is not here: build an image on this one.
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
# Tokens and answers of savant trust are kept in /configuration, whoever the user is.
RUN apk add --no-cache ca-certificates git && mkdir -m 1777 /configuration
COPY --from=build /savant /usr/local/bin/savant
ENV SAVANT_PATH=/project XDG_CONFIG_HOME=/configuration
WORKDIR /project
# No root. --user is the owner of the project, so that Savant may write its runs to .savant/.
USER 65532:65532
ENTRYPOINT ["savant"]
CMD ["mcp"]
