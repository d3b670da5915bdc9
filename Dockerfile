# One image for every process of ours; a container says which with its command. .dockerignore lists what is copied.

FROM python:3.11.15-slim-bookworm AS packages
COPY requirements.txt .
# Wheels alone, each by its hash: nothing is compiled, so no compiler was ever there, and the environment has no pip.
RUN python -m venv --without-pip /opt/packages \
    && pip --python /opt/packages/bin/python install --no-cache-dir --disable-pip-version-check \
        --only-binary :all: --require-hashes -r requirements.txt

FROM python:3.11.15-slim-bookworm
# A volume that is mounted there takes its owner from here.
RUN groupadd --gid 10001 turnkeep \
    && useradd --uid 10001 --gid turnkeep --no-create-home --home-dir /nonexistent turnkeep \
    && install -d -o turnkeep -g turnkeep -m 700 /var/lib/turnkeep
COPY --from=packages /opt/packages /opt/packages
WORKDIR /opt/turnkeep
COPY . .
RUN python -m compileall -q .
ENV PATH=/opt/packages/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TURNKEEP_STATE_DIR=/var/lib/turnkeep
USER turnkeep
ENTRYPOINT ["python", "-m", "app"]
CMD ["--help"]
