#!/usr/bin/env bash
# Regenerates registries.txt with the real program and a real engine:
#   docs/show/registries.sh [path of deft]
# Needs root, debootstrap, a Rust toolchain of rustup and the public registries, or those that
# this machine's tools are set to. The image, which is made once, is deft-show-registries:1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
deft=${1:-$root/bin/deft}
tmp=$(mktemp -d)
export DEFT_DATA=$tmp/data NO_COLOR=1
export DOCKER_HOST=${DOCKER_HOST:-unix://${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/docker/docker.sock}
ws=/tmp/registries image=deft-show-registries:1
. "$here/scripted.sh"
cleanup() {
  kill ${llm:+"$llm"} 2>/dev/null || true
  rm -rf "$tmp" "$ws"
}
trap cleanup EXIT

# Debian with a C compiler, Java and Maven, the Rust of this machine and the certificates that it trusts.
if ! docker image inspect "$image" >/dev/null 2>&1; then
  debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev,openjdk-17-jdk-headless,maven bookworm "$tmp/image" >&2
  cp -L /etc/ssl/certs/ca-certificates.crt "$tmp/image/etc/ssl/certs/"
  if [ -e /etc/ssl/certs/java/cacerts ]; then cp -L /etc/ssl/certs/java/cacerts "$tmp/image/etc/ssl/certs/java/"; fi
  cp -a "$(rustc --print sysroot)" "$tmp/image/opt/rust"
  ln -s /opt/rust/bin/cargo /opt/rust/bin/rustc "$tmp/image/usr/local/bin/"
  tar -C "$tmp/image" -c . | docker import -c 'CMD ["bash"]' - "$image" >&2
fi

rm -rf "$ws" && mkdir -p "$ws/rust/src" "$ws/java/src/main/java" "$ws/java/src/test/java"
cat >"$ws/rust/Cargo.toml" <<'EOF'
[package]
name = "answer"
version = "0.1.0"
edition = "2021"

[dependencies]
itoa = "1"
EOF
echo 'fn main() { println!("{}", itoa::Buffer::new().format(42)); }' >"$ws/rust/src/main.rs"
cat >"$ws/java/pom.xml" <<'EOF'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>answer</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.10.2</version><scope>test</scope></dependency>
  </dependencies>
  <build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin></plugins></build>
</project>
EOF
echo 'class Answer { static int get() { return 42; } }' >"$ws/java/src/main/java/Answer.java"
echo 'class AnswerTest { @org.junit.jupiter.api.Test void is42() { org.junit.jupiter.api.Assertions.assertEquals(42, Answer.get()); } }' >"$ws/java/src/test/java/AnswerTest.java"

model "$here/registries.yaml"

# Shows a command, and runs it in the workspace.
show() {
  echo "\$ $*"
  (cd "$ws" && PATH=$(dirname "$deft"):$PATH bash -c "$*" 2>&1)
  echo
}

{
  echo "# An image with cargo, Java and Maven. Commands reach the registries of the one ecosystem that is named."
  echo
  show "deft run --sandbox docker --image $image --pull never --net=cargo 'build the Rust program'"
  show "deft run --sandbox docker --image $image --pull never --net=maven 'run the Java tests'"
  echo "# Without --net:"
  show "deft run --sandbox docker --image $image --pull never 'build the Rust program anew'"
} >"$here/registries.txt"
