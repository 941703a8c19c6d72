internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The notice about indexes that were just added or deleted, with a button that reverses the change. The URL names the indexes, and the notice tells
/// only what is true of the schema, so that a link can't put other text on the page.
struct IndexNotice: ViewModel {
    struct Undo: ViewModel {
        let action: String
        let fields: [Frame.Hidden]
    }

    let text: String
    /// `nil` if the schema can't be edited here.
    let undo: Undo?

    /// The field of a form whose next page has the notice.
    static let asked = Frame.Hidden(name: "undoable", value: "1")
    private static let fieldsWord = "field-indexes"
    private static let compositesWord = "composite-indexes"

    /// The address with the notice.
    /// - Parameters:
    ///   - added: indexes as forms name them, such as `Message/author:QUERYABLE`.
    static func address(_ address: String, added: [String], dropped: [String]) -> String {
        self.address(address, [fieldsWord] + added.map { "+\($0)" } + dropped.map { "-\($0)" })
    }

    /// The same for composite indexes, such as `Message/author:sentAt`.
    static func address(_ address: String, addedComposites added: [String], dropped: [String]) -> String {
        self.address(address, [compositesWord] + added.map { "+\($0)" } + dropped.map { "-\($0)" })
    }

    private static func address(_ address: String, _ words: [String]) -> String {
        "\(address)\(address.contains("?") ? "&" : "?")notice=\(PercentEncoding.encoded(words.joined(separator: " ")))"
    }

    /// - Parameter page: the address of the page with the notice, to which the button leads back.
    /// - Returns: `nil` if the page has another notice or none, or the schema is not as the notice says.
    init?(_ visit: Visit, on page: String) {
        let words = visit.fields["notice"]?.split(separator: " ") ?? []
        guard let first = words.first, first == Self.fieldsWord || first == Self.compositesWord else { return nil }
        let isComposite = first == Self.compositesWord
        let changes = words.dropFirst().compactMap { isComposite ? Change(composite: $0, visit.schema) : Change(field: $0, visit.schema) }
        if changes.isEmpty { return nil }
        let added = changes.filter(\.isAdded).map(\.words)
        let dropped = changes.filter { !$0.isAdded }.map(\.words)
        text = [("Added", added), ("Deleted", dropped)].filter { !$1.isEmpty }.map { "\($0) \($1.joined(separator: ", "))." }.joined(separator: " ")
        let way = [Frame.Hidden(name: "back", value: page), Frame.Hidden(name: "from", value: page), Self.asked]
        let canEdit = isComposite ? visit.database.can(.editSchema) : visit.canEditSchema
        undo =
            canEdit
            ? Undo(
                action: visit.place.link(isComposite ? "composites/change" : "type/indexes"),
                fields: changes.map { Frame.Hidden(name: $0.isAdded ? "drop" : "add", value: $0.value) } + way) : nil
    }

    /// One index that was added or deleted.
    private struct Change {
        let isAdded: Bool
        /// As forms name it.
        let value: String
        let words: String

        private init?(_ word: Substring, _ schema: Schema?, _ told: (RecordType, [Substring], Bool) -> (isThere: Bool, words: String)?) {
            guard word.first == "+" || word.first == "-", let slash = word.firstIndex(of: "/") else { return nil }
            isAdded = word.first == "+"
            value = String(word.dropFirst())
            let typeName = Name(String(word[..<slash].dropFirst()))
            let parts = word[slash...].dropFirst().split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let type = schema?.types[typeName], let told = told(type, parts, isAdded), told.isThere == isAdded else { return nil }
            words = told.words
        }

        init?(field word: Substring, _ schema: Schema?) {
            self.init(word, schema) { type, parts, isAdded in
                let key = FieldKey(schemaName: Name(String(parts[0])))
                guard let index = Indexes(name: String(parts[1])), let definition = type.definition(of: key) else { return nil }
                return (definition.indexes.isSuperset(of: index), "\(parts[1]) \(isAdded ? "to" : "on") \(type.name).\(key.label)")
            }
        }

        init?(composite word: Substring, _ schema: Schema?) {
            self.init(word, schema) { type, parts, _ in
                let index = CompositeIndex(
                    filter: FieldKey(schemaName: Name(String(parts[0]))), sort: FieldKey(schemaName: Name(String(parts[1]))))
                guard type.definition(of: index.filter) != nil, type.definition(of: index.sort) != nil else { return nil }
                return (type.compositeIndexes.contains(index), "the composite index of \(type.name) on \(index.filter.label) by \(index.sort.label)")
            }
        }
    }
}
