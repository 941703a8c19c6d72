internal import CEmbeddedFiles

/// The description of all services in OpenAPI 3.1: the file docs/openapi.json. It is the same on every server.
enum OpenAPIDocument {
    static let path = "/openapi.json"
    static let bytes = embedded_openapi().map { Array(String(cString: $0).utf8) } ?? []
}
