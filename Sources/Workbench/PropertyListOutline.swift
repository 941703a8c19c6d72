/// A property list as readable lines, from the root object down. For a keyed
/// archive, it shows the archived objects rather than the archive structure.
///
/// It does not interpret the members of archived classes, because only the class knows their meaning.
public struct PropertyListOutline: Sendable, Hashable {
    public struct Line: Sendable, Hashable {
        /// The nesting depth; 0 for the outermost object.
        public let depth: Int
        /// The key, or the index in an array.
        public let name: String
        /// The class of an archived object, or the kind of value, such as `data` or `string`.
        public let kind: String
        /// The value, truncated if it is long; `nil` for containers.
        public let text: String?
        /// The complete bytes of a data value; `nil` for other values.
        public let bytes: [UInt8]?
    }

    /// The maximum number of lines.
    public static let lineLimit = 400
    static let depthLimit = 24
    /// The maximum nesting of lists within data values of lists.
    static let nestingLimit = 3

    /// True for the output of NSKeyedArchiver.
    public let isKeyedArchive: Bool
    /// The class of the archive's root object; `nil` if there is none, or the list is not an archive.
    public let rootClass: String?
    public let objectCount: Int
    public let lines: [Line]
    /// True if the limits omitted lines or tokens.
    public let isCut: Bool
    /// The data of all archived `CKServerChangeToken` objects, with their paths.
    public let tokens: [FoundToken]

    public init(of list: BinaryPropertyList) {
        self.init(of: list, nesting: 0)
    }

    init(of list: BinaryPropertyList, nesting: Int) {
        var outliner = PropertyListOutliner(list, nesting: nesting)
        outliner.run()
        isKeyedArchive = outliner.archived != nil
        rootClass = outliner.rootClass
        objectCount = list.objects.count
        lines = outliner.lines
        isCut = outliner.isCut
        tokens = outliner.tokens
    }
}
