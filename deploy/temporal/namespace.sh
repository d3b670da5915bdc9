#!/bin/sh
# Makes the namespace of the workflows as soon as the server answers. Again changes nothing.
# Server and namespace come as TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.
set -eu

tries=60 # an open port says less than a server that is well
until temporal operator cluster health >/dev/null 2>&1; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { echo "Temporal does not answer at $TEMPORAL_ADDRESS" >&2; exit 1; }
  sleep 1
done

temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 72h
