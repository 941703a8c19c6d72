import Records

/// The container with the schemas, and the acting user.
struct SchemaPlace {
    var container: ContainerID
    var user = "developer"
}
