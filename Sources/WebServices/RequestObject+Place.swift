internal import JSON
internal import Records

/// The location in requests of Skylight's own services. Each part is optional.
extension RequestObject {
    func container() throws -> ContainerID? {
        guard let text = try string("container") else { return nil }
        guard let container = ContainerID(text) else {
            throw RecordError.unexpectedInput("Expected 'container' to be iCloud. and a reverse domain name, found '\(text)'")
        }
        return container
    }

    func environment() throws -> Environment? {
        guard let text = try string("environment") else { return nil }
        guard let environment = Environment(rawValue: text) else {
            throw RecordError.unexpectedInput("Expected 'environment' to be development or production, found '\(text)'")
        }
        return environment
    }

    func databaseScope() throws -> DatabaseScope? {
        guard let text = try string("database") else { return nil }
        guard let scope = DatabaseScope(rawValue: text) else {
            throw RecordError.unexpectedInput("Expected 'database' to be public, private or shared, found '\(text)'")
        }
        return scope
    }
}
