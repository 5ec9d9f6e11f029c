# The front door. `make study` gives an answer, `make test` runs every test; both install the Debian
# packages that are missing (cmake/packages.txt), with sudo when not root.
.PHONY: study test peers packages peer-packages build clean

study: packages
	cmake --preset release
	cmake --build --preset release --target breakeven
	OMP_WAIT_POLICY=passive build/release/breakeven run scenarios/crash_render.toml

test: build
	ctest --preset release

peers: peer-packages
	cmake --preset release -DBREAKEVEN_PEERS=ON
	cmake --build --preset release
	@echo "built build/release/breakeven-peers; try: OMP_WAIT_POLICY=passive build/release/breakeven-peers render"

build: packages
	cmake --preset release
	cmake --build --preset release

packages:
	@cmake/install_packages.sh cmake/packages.txt

peer-packages: packages
	@cmake/install_packages.sh cmake/peer_packages.txt

clean:
	rm -rf build
