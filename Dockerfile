# policylearn serve on a CPU, not as root. Not tried: no container engine was at hand when it was written.
#   docker build -t policylearn --build-arg PIP_OPTIONS="--extra-index-url ..." .    # PyTorch's index of CPU builds; without it, CUDA
#   docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/runs/solubility:/run/model:ro" policylearn
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
ARG PIP_OPTIONS=""
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir $PIP_OPTIONS -c constraints.txt ".[serve]"

FROM python:3.12-slim
# RDKit draws with these.
RUN apt-get update \
    && apt-get install --no-install-recommends -y libxrender1 libxext6 libexpat1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 policylearn
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH NUMBA_CACHE_DIR=/home/policylearn/.cache/numba PYTHONDONTWRITEBYTECODE=1
USER policylearn
WORKDIR /home/policylearn
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=5)"]
ENTRYPOINT ["policylearn", "serve"]
CMD ["/run/model", "--host", "0.0.0.0", "--port", "8000", "--allow-host", "localhost"]
