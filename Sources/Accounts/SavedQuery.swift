public import Records

/// A query saved under a name, for use in any environment of its container.
public struct SavedQuery: Sendable, Hashable {
    /// Maximum length of the name in UTF-8 bytes.
    public static let nameLimit = 100
    /// Maximum length of the query in UTF-8 bytes.
    public static let questionLimit = 32_768
    /// Maximum number of queries per container.
    public static let countLimit = 200

    /// Unique within a container.
    public var name: String
    public var container: ContainerID
    public var scope: DatabaseScope
    /// The zone as in the console's URLs: empty for all zones, `nil` if none is specified.
    public var zone: String?
    /// The query as in the console's URLs: `type=Message&filter1=room&…`.
    public var question: String

    public init(name: String, container: ContainerID, scope: DatabaseScope, zone: String?, question: String) {
        self.name = name
        self.container = container
        self.scope = scope
        self.zone = zone
        self.question = question
    }
}
