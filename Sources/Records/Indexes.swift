/// The indexes of a field.
public struct Indexes: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// For equality, membership, distance and ranges.
    public static let queryable = Indexes(rawValue: 1)
    /// For sorting and ranges.
    public static let sortable = Indexes(rawValue: 2)
    /// For searching words of a text.
    public static let searchable = Indexes(rawValue: 4)

    /// The names in the order used in schema files.
    public static let named: [(name: String, index: Indexes)] = [
        ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
    ]

    /// The names of these indexes, such as `QUERYABLE`, in the order of ``named``.
    public var names: [String] {
        Self.named.filter { contains($0.index) }.map(\.name)
    }

    /// The index with a name, ignoring case.
    public init?(name: String) {
        guard let index = Self.named.first(where: { $0.name == name.uppercased() })?.index else { return nil }
        self = index
    }
}
