import Records

/// The container whose schemas are meant, and the user who asks.
struct SchemaPlace {
    var container: ContainerID
    var user = "developer"
}
