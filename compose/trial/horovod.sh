#!/bin/sh
# Horovod for the torch of this image, in /built: the wheel in WHEELS where it fits, else one that is compiled here.
#
#   horovod.sh WHEELS VERSION [VARIABLE=VALUE...]     the variables are those of Horovod's own build
#
# Horovod asks for C++14 where torch needs C++20, and its CMake files are older than CMake 4 likes.
set -eu

wheels=$1
version=$2
shift 2
mkdir -p /built

for wheel in "$wheels"/horovod-"$version"-*.whl; do
    if [ -e "$wheel" ] && pip install --quiet --no-deps "$wheel" && python3 -c "import horovod.torch"; then
        cp "$wheel" /built/
        exit 0
    fi
done

apt-get update -qq
apt-get install -y -qq --no-install-recommends g++ make > /dev/null
pip install --quiet setuptools==80.9.0 wheel packaging cmake
# shellcheck disable=SC2016  # it is the wrapper that is to see its arguments
printf '#!/bin/sh\nexec g++ "$@" -std=c++20\n' > /usr/local/bin/g++20
chmod +x /usr/local/bin/g++20
env CXX=g++20 CMAKE_POLICY_VERSION_MINIMUM=3.5 HOROVOD_WITH_PYTORCH=1 \
    HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITHOUT_MPI=1 "$@" \
    pip wheel --quiet --no-deps --no-build-isolation -w /built "horovod==$version"
