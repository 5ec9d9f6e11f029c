#!/usr/bin/env bash
# step.sh NAME PATH BUILD OUT: one step of check.sh, which names and times them. PATH is cuda or
# host, BUILD the folder of the program, OUT that of the results. Exit code 77: nothing to run on.
set -euo pipefail
name=$1 path=$2 build=$3 out=$4
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly skipped=77
under=(env) # what the program is run by
# The time limit's signal goes to the program too, which then writes what it has; wait for that.
trap 'echo "stopped at the time limit"' TERM

# breakeven writes no results without its charts. This gnuplot leaves them empty; "breakeven memo"
# draws them where there is a real one.
make_gnuplot_stand_in() {
  local folder=$out/no_gnuplot
  mkdir -p "$folder"
  cat >"$folder/gnuplot" <<'TEXT'
#!/bin/sh
file=$(sed -n "s/^set output '\(.*\)'$/\1/p" "$2")
echo '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="40"><text x="10" y="25">not drawn: no gnuplot where this ran; "breakeven memo" draws it</text></svg>' >"$file"
TEXT
  chmod +x "$folder/gnuplot"
  export PATH="$folder:$PATH"
}

# cuDNN, cuBLAS and what they load may be installed as Python packages, where no loader looks.
python_libraries() {
  python3 -c 'import glob, nvidia
for place in nvidia.__path__: print(*glob.glob(place + "/*/lib"), sep="\n")' 2>/dev/null || true
}

prepare_environment() {
  local folder
  while read -r folder; do
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
  done < <(python_libraries)
  export OMP_WAIT_POLICY=passive
  command -v gnuplot >/dev/null || make_gnuplot_stand_in
}

# say_verified CSV: what the path's rows say of its agreement; fails where it does not agree or has
# none. Cells of measurements.csv hold no line breaks.
say_verified() {
  awk -v path="$path" '
    function split_row(line, cells,   count) {
      for (count = 1; length(line) > 0; ++count) {
        match(line, line ~ /^"/ ? "^\"([^\"]|\"\")*\"" : "^[^,]*")
        cells[count] = substr(line, 1, RLENGTH)
        line = substr(line, RLENGTH + 2)
      }
    }
    { sub(/\r$/, ""); split_row($0, cells) }
    NR == 1 { for (i in cells) column[cells[i]] = i; next }
    cells[column["path"]] == path && cells[column["phase"]] == "total" {
      ++rows
      if (cells[column["verified"]] != "true") bad = 1
      print path ": verified " cells[column["verified"]] ", " cells[column["verification"]]
    }
    END {
      if (!rows) print "no row of path " path
      exit bad || !rows
    }' "$1"
}

# run_scenario GROUP NAME FILE [--set KEY=VALUE]...: results go to OUT/GROUP/NAME.
run_scenario() {
  local group=$1 study=$2 file=$3
  shift 3
  mkdir -p "$out/$group"
  "${under[@]}" "$build/breakeven" run "$file" --catalog "$root/scenarios/catalog" \
    --out "$out/$group" --set "name=$study" "$@"
  say_verified "$out/$group/$study/measurements.csv"
}

agree() {
  local study=$1 file=$2
  shift 2
  run_scenario agreement "$study" "$root/tests/gpu/$file.toml" "$@"
}

study() { run_scenario studies "$name" "$root/scenarios/$name.toml" "$@"; }

say_machine() {
  if [[ $path == cuda ]]; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv
  fi
  grep -m 1 'model name' /proc/cpuinfo
  echo "$(nproc) CPUs"
}

build_program() {
  if [[ -f $root/build/gpu_kit.tar.gz && $build == "$root/build/gpu_kit" ]]; then
    tar -xzf "$root/build/gpu_kit.tar.gz" -C "$root/build"
  elif [[ ! -x $build/breakeven && $build == "$root/build/cuda" ]]; then
    cd "$root"
    cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native -DBUILD_TESTING=OFF
    cmake --build --preset cuda --target breakeven -j "$(nproc)"
  fi
  "$build/breakeven" --version
}

memcheck() {
  export PATH="$PATH:/usr/local/cuda/bin"
  if ! command -v compute-sanitizer; then
    echo "compute-sanitizer is not here"
    exit "$skipped"
  fi
  under=(compute-sanitizer --tool memcheck --error-exitcode 9)
  agree memcheck shapes --set workload.size_voxels="[64, 48, 32]" \
    --set workload.spacing_mm="[6, 6, 10]"
}

car6_street() {
  if [[ ! -e $root/../shared/data/render/car6_crash_v223.k ]]; then
    echo "its files are not beside the checkout"
    exit "$skipped"
  fi
  study
}

prepare_environment
case $name in
machine) say_machine ;;
build) build_program ;;
agree_render) agree render render ;;
agree_refit) agree refit render --set workload.acceleration=refit ;;
agree_denoising) agree denoising denoising ;;
agree_shapes) agree shapes shapes ;;
agree_unet_*) agree "${name#agree_}" unet --set "workload.unet.precision=${name#agree_unet_}" ;;
agree_trees | agree_scores | agree_book) agree "${name#agree_}" "${name#agree_}" ;;
agree_network_*) agree "${name#agree_}" network --set "workload.mlp.precision=${name##*_}" ;;
memcheck) memcheck ;;
crash_render) study --set measure.time_limit="30 s" ;;
ct_segmentation | ct_unet | ct_night_queue) study ;;
fraud_training | fraud_network | fraud_scoring | var_overnight) study ;;
car6_street) car6_street ;;
*)
  echo "step.sh: unknown step $name" >&2
  exit 2
  ;;
esac
