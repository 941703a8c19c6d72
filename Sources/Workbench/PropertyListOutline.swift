/// A property list as lines that people read, from its top object down; of a keyed archive, the objects that it holds instead of how it holds them.
///
/// It shows what is there and guesses nothing: what an archived class means by its members is known to that class alone.
public struct PropertyListOutline: Sendable, Hashable {
    public struct Line: Sendable, Hashable {
        /// How far in it stands; 0 for the outermost.
        public let depth: Int
        /// The key, or the place in an array.
        public let name: String
        /// The class of an archived object, or the kind of value: `data`, `string`…
        public let kind: String
        /// The value, where it is no container. Cut, where it is long.
        public let text: String?
        /// Of data, all of them.
        public let bytes: [UInt8]?
    }

    /// Lines that are made of one list.
    public static let lineLimit = 400
    static let depthLimit = 24
    /// Lists within the data of lists that are opened.
    static let nestingLimit = 3

    /// Whether it is what NSKeyedArchiver writes.
    public let isKeyedArchive: Bool
    /// The class of the archive's root object; `nil` where there is none, or it is no archive.
    public let rootClass: String?
    public let objectCount: Int
    public let lines: [Line]
    /// Whether there is more than is shown.
    public let isCut: Bool
    /// The data of every archived `CKServerChangeToken` in it, and where each was found.
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
