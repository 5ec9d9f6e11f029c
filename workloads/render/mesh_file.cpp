#include "workloads/render/mesh_file.h"

#include "sim/errors.h"
#include "workloads/render/ac3d.h"
#include "workloads/render/ls_dyna.h"
#include "workloads/render/ply.h"
#include "workloads/render/text_file.h"

#include <assimp/BaseImporter.h>
#include <assimp/Importer.hpp>
#include <assimp/importerdesc.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

namespace breakeven::render {

namespace {

constexpr std::array assimp_extensions = {".obj", ".stl", ".gltf", ".glb"};
constexpr std::array deck_extensions = {".k", ".key", ".dyn"};
constexpr std::array ac3d_extensions = {".ac", ".acc"};
constexpr const char* ply_extension = ".ply";

template <std::size_t count>
bool is_one_of(const std::string& extension, const std::array<const char*, count>& extensions) {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

std::string extension_of(const std::filesystem::path& file) {
  return lower_case(file.extension().string());
}

/// Only the reader for this extension: Assimp would otherwise try its forty others on the contents.
void keep_only_reader_for(Assimp::Importer& importer, const std::string& extension) {
  for (std::size_t i = importer.GetImporterCount(); i-- > 0;) {
    const aiImporterDesc* reader = importer.GetImporterInfo(i);
    const std::string extensions = fmt::format(" {} ", reader->mFileExtensions);
    if (extensions.find(" " + extension.substr(1) + " ") != std::string::npos) continue;
    Assimp::BaseImporter* unwanted = importer.GetImporter(i);
    importer.UnregisterLoader(unwanted);
    delete unwanted; // Assimp hands it back
  }
}

std::string file_name_of(const std::string& path) {
  const std::size_t folder = path.find_last_of("/\\");
  return folder == std::string::npos ? path : path.substr(folder + 1);
}

/// Assimp's own name for "no material in the file".
bool is_given(const std::string& name) { return !name.empty() && name != AI_DEFAULT_MATERIAL_NAME; }

SourceMaterial material_of(const aiMaterial& from, const std::string& mesh_name) {
  SourceMaterial material;
  aiString texture, name;
  from.GetTexture(aiTextureType_DIFFUSE, 0, &texture);
  from.Get(AI_MATKEY_NAME, name);
  material.name = file_name_of(texture.C_Str());
  // "*0" is a texture inside the file, without a name.
  const bool textured = !material.name.empty();
  if (!textured || material.name.front() == '*')
    material.name = is_given(name.C_Str()) ? name.C_Str() : mesh_name;
  aiColor3D colour;
  // Beside a texture the colour is only its factor, and says little about what one sees.
  if (!textured && is_given(name.C_Str())
      && from.Get(AI_MATKEY_COLOR_DIFFUSE, colour) == AI_SUCCESS)
    material.colour = Float3{colour.r, colour.g, colour.b};
  from.Get(AI_MATKEY_OPACITY, material.opacity);
  return material;
}

void add_mesh(const aiScene& scene, const aiMesh& from, const aiMatrix4x4& transform,
              const std::string& node_name, const std::filesystem::path& file, SourceMesh& to) {
  const std::size_t first = to.mesh.positions.size();
  if (first + from.mNumVertices > most_indices
      || to.mesh.triangles.size() + from.mNumFaces > most_indices / 3)
    throw BadInput(file.string(), 0, "more vertices or triangles than can be numbered",
                   fmt::format("at most {} indices", most_indices));
  const std::string name = from.mName.length > 0 ? from.mName.C_Str() : node_name;
  const std::uint32_t material =
      material_index(to, material_of(*scene.mMaterials[from.mMaterialIndex], name));
  for (unsigned i = 0; i < from.mNumVertices; ++i) {
    const aiVector3D p = transform * from.mVertices[i];
    to.mesh.positions.push_back({p.x, p.y, p.z});
  }
  for (unsigned i = 0; i < from.mNumFaces; ++i) {
    const aiFace& face = from.mFaces[i];
    if (face.mNumIndices != 3) continue; // points and lines
    const auto corner = [&](int k) {
      // An index that is out of its own mesh must not land in another one.
      const unsigned index = face.mIndices[k];
      return index < from.mNumVertices ? static_cast<std::uint32_t>(first + index) : 0xFFFF'FFFFu;
    };
    to.mesh.triangles.push_back({corner(0), corner(1), corner(2)});
    to.mesh.materials.push_back(material);
  }
}

/// Each mesh as often as a node refers to it. A list instead of recursion: files can nest as deep
/// as they like.
void add_nodes(const aiScene& scene, const std::filesystem::path& file, SourceMesh& to) {
  struct Placed {
    const aiNode* node;
    aiMatrix4x4 transform;
  };
  std::vector<Placed> open = {{scene.mRootNode, scene.mRootNode->mTransformation}};
  while (!open.empty()) {
    const Placed placed = open.back();
    open.pop_back();
    for (unsigned i = 0; i < placed.node->mNumMeshes; ++i)
      add_mesh(scene, *scene.mMeshes[placed.node->mMeshes[i]], placed.transform,
               placed.node->mName.C_Str(), file, to);
    for (unsigned i = placed.node->mNumChildren; i-- > 0;) {
      const aiNode* child = placed.node->mChildren[i];
      open.push_back({child, placed.transform * child->mTransformation});
    }
  }
}

SourceMesh load_with_assimp(const std::filesystem::path& file) {
  Assimp::Importer importer;
  keep_only_reader_for(importer, extension_of(file));
  // What a triangle does not need is not even read on.
  importer.SetPropertyInteger(AI_CONFIG_PP_RVC_FLAGS,
                              aiComponent_NORMALS | aiComponent_TANGENTS_AND_BITANGENTS
                                  | aiComponent_COLORS | aiComponent_TEXCOORDS
                                  | aiComponent_BONEWEIGHTS | aiComponent_ANIMATIONS
                                  | aiComponent_LIGHTS | aiComponent_CAMERAS);
  const aiScene* scene =
      importer.ReadFile(file.string(), aiProcess_Triangulate | aiProcess_RemoveComponent);
  if (scene == nullptr || scene->mRootNode == nullptr)
    throw BadInput(file.string(), 0,
                   fmt::format("a file that cannot be read ({})", importer.GetErrorString()),
                   fmt::format("a valid {} file", extension_of(file).substr(1)));
  SourceMesh mesh;
  add_nodes(*scene, file, mesh);
  return mesh;
}

SourceMesh load(const std::filesystem::path& file) {
  const std::string extension = extension_of(file);
  if (!is_mesh_file(file))
    throw BadInput(file.string(), 0,
                   extension.empty() ? "a file without an extension"
                                     : "a file of the kind '" + extension + "'",
                   "a mesh as .obj, .ply, .stl, .gltf, .glb, .ac or .acc, or an LS-DYNA deck as "
                   ".k, .key or .dyn");
  const std::string bytes =
      read_bytes(file); // also says what is wrong with a folder or an empty file
  if (is_one_of(extension, deck_extensions)) return parse_ls_dyna(bytes, file);
  if (is_one_of(extension, ac3d_extensions)) return parse_ac3d(bytes, file);
  if (extension == ply_extension) return parse_ply(bytes, file);
  return load_with_assimp(file);
}

} // namespace

bool is_mesh_file(const std::filesystem::path& file) {
  const std::string extension = extension_of(file);
  return is_one_of(extension, assimp_extensions) || is_one_of(extension, deck_extensions)
         || is_one_of(extension, ac3d_extensions) || extension == ply_extension;
}

bool is_y_up(const std::filesystem::path& file) {
  const std::string extension = extension_of(file);
  return extension == ".gltf" || extension == ".glb" || is_one_of(extension, ac3d_extensions);
}

SourceMesh load_mesh_file(const std::filesystem::path& file) {
  try {
    SourceMesh mesh = load(file);
    tidy(mesh, file);
    for (SourceMaterial& material : mesh.materials)
      if (material.name.empty()) material.name = file.stem().string();
    return mesh;
  } catch (const std::bad_alloc&) {
    throw Failure("not enough memory to read '" + file.string() + "'");
  }
}

} // namespace breakeven::render
