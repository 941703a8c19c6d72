public import Records

/// A query that was saved under a name, to be asked again in any environment of its container.
public struct SavedQuery: Sendable, Hashable {
    /// Longest name, in UTF-8 bytes.
    public static let nameLimit = 100
    /// Longest question, in UTF-8 bytes.
    public static let questionLimit = 32_768
    /// Most queries of one container.
    public static let countLimit = 200

    /// Tells the queries of a container apart.
    public var name: String
    public var container: ContainerID
    public var scope: DatabaseScope
    /// The zone as the console's addresses name it: empty for all zones, `nil` where none was said.
    public var zone: String?
    /// The query as the console's addresses have it, `type=Message&filter1=room&…`.
    public var question: String

    public init(name: String, container: ContainerID, scope: DatabaseScope, zone: String?, question: String) {
        self.name = name
        self.container = container
        self.scope = scope
        self.zone = zone
        self.question = question
    }
}
