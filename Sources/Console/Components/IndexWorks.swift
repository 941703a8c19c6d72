package import RecordStore
package import Records

/// The background jobs on indexes.
package struct IndexWorks: Sendable {
    package let builds: [IndexBuildProgress]

    package init(builds: [IndexBuildProgress]) {
        self.builds = builds
    }

    /// The progress of a job on a field's index, such as `building, 43 %`.
    package func words(of index: Indexes, on key: FieldKey, in typeName: Name) -> String? {
        builds.first { build in
            guard build.recordType == typeName, case .field(key, let indexes) = build.subject else { return false }
            return indexes.contains(index)
        }?.words
    }

    package func words(of composite: CompositeIndex, in typeName: Name) -> String? {
        builds.first { $0.recordType == typeName && $0.subject == .composite(composite) }?.words
    }

    /// A progress bar for each job; `nil` if there are no jobs.
    package var panel: IndexWorkPanel? {
        builds.isEmpty ? nil : IndexWorkPanel(rows: builds.map { IndexWorkPanel.Row($0) })
    }
}

/// The progress of index jobs.
package struct IndexWorkPanel: Component {
    package static let template = "builds"

    struct Row: ViewModel {
        let typeName: String
        let what: String
        /// `building` or `deleting`.
        let verb: String
        let percent: String
        /// `430,000 of 1,000,000 records`
        let count: String
    }

    let rows: [Row]
}

extension IndexWorkPanel.Row {
    fileprivate init(_ build: IndexBuildProgress) {
        typeName = build.recordType.string
        what =
            switch build.subject {
            case .field(let key, let indexes): "\(key.label) \(indexes.names.joined(separator: " "))"
            case .composite(let composite): composite.words
            }
        verb = build.work == .building ? "building" : "deleting"
        percent = String(build.percent)
        let noun = build.work == .building ? "records" : "entries"
        count = "\(Digits.grouped(build.done)) of \(Digits.grouped(max(build.total, build.done))) \(noun)"
    }
}

extension IndexBuildProgress {
    fileprivate var words: String {
        work == .building ? "building, \(percent) %" : "being deleted, \(percent) %"
    }
}

extension Visit {
    /// The engine's current index jobs.
    package func indexWorks() async throws -> IndexWorks {
        guard database.can(.showSchema) else { return IndexWorks(builds: []) }
        return IndexWorks(builds: try await measure { try await database.require(.showSchema).indexBuilds() })
    }
}

// MARK: - Notice

/// The notice about indexes that were just added or deleted, with a button that reverses the change. The URL names the
/// indexes, and the notice tells only what is true of the schema, so that a link can't put other text on the page.
package enum IndexNotice {
    private static let fieldsWord = "field-indexes"
    private static let compositesWord = "composite-indexes"

    /// The address with the notice.
    /// - Parameters:
    ///   - added: indexes as forms name them, such as `Message/author:QUERYABLE`.
    package static func address(_ address: String, added: [String], dropped: [String]) -> String {
        self.address(address, [fieldsWord] + added.map { "+\($0)" } + dropped.map { "-\($0)" })
    }

    /// The same for composite indexes, such as `Message/author:sentAt`.
    package static func address(_ address: String, addedComposites added: [String], dropped: [String]) -> String {
        self.address(address, [compositesWord] + added.map { "+\($0)" } + dropped.map { "-\($0)" })
    }

    private static func address(_ address: String, _ words: [String]) -> String {
        "\(address)\(address.contains("?") ? "&" : "?")notice=\(PercentEncoding.encoded(words.joined(separator: " ")))"
    }

    /// - Returns: `nil` if the page has another notice or none, or the schema is not as the notice says.
    static func view(_ visit: Visit) -> NoticeView? {
        let words = visit.fields["notice"]?.split(separator: " ") ?? []
        guard let first = words.first, first == fieldsWord || first == compositesWord else { return nil }
        let isComposite = first == compositesWord
        let changes = words.dropFirst().compactMap {
            isComposite ? Change(composite: $0, visit.schema) : Change(field: $0, visit.schema)
        }
        if changes.isEmpty { return nil }
        let added = changes.filter(\.isAdded).map(\.words)
        let dropped = changes.filter { !$0.isAdded }.map(\.words)
        let text = [("Added", added), ("Deleted", dropped)].filter { !$1.isEmpty }.map {
            "\($0) \($1.joined(separator: ", ")) in \(visit.place.address.environment.rawValue)."
        }.joined(separator: " ")
        let way = ["back", "from"].map { Frame.Hidden(name: $0, value: visit.here) }
        let canEdit = isComposite ? visit.database.can(.editSchema) : visit.canEditSchema
        // The schema can't be edited everywhere.
        return NoticeView(
            text,
            undo: canEdit
                ? NoticeView.Undo(
                    action: visit.place.link(isComposite ? "composites/change" : "type/indexes"),
                    fields: changes.map { Frame.Hidden(name: $0.isAdded ? "drop" : "add", value: $0.value) } + way)
                : nil)
    }

    /// One index that was added or deleted.
    private struct Change {
        let isAdded: Bool
        /// As forms name it.
        let value: String
        let words: String

        private init?(
            _ word: Substring, _ schema: Schema?,
            _ status: (RecordType, [Substring], Bool) -> (isThere: Bool, words: String)?
        ) {
            guard word.first == "+" || word.first == "-", let slash = word.firstIndex(of: "/") else { return nil }
            isAdded = word.first == "+"
            value = String(word.dropFirst())
            let typeName = Name(String(word[..<slash].dropFirst()))
            let parts = word[slash...].dropFirst().split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let type = schema?.types[typeName], let status = status(type, parts, isAdded),
                status.isThere == isAdded
            else { return nil }
            words = status.words
        }

        init?(field word: Substring, _ schema: Schema?) {
            self.init(word, schema) { type, parts, isAdded in
                let key = FieldKey(schemaName: Name(String(parts[0])))
                guard let index = Indexes(name: String(parts[1])), let definition = type.definition(of: key) else {
                    return nil
                }
                return (
                    definition.indexes.isSuperset(of: index),
                    "\(parts[1]) \(isAdded ? "to" : "on") \(type.name).\(key.label)"
                )
            }
        }

        init?(composite word: Substring, _ schema: Schema?) {
            self.init(word, schema) { type, parts, _ in
                let index = CompositeIndex(
                    filter: FieldKey(schemaName: Name(String(parts[0]))),
                    sort: FieldKey(schemaName: Name(String(parts[1]))))
                guard type.definition(of: index.filter) != nil, type.definition(of: index.sort) != nil else {
                    return nil
                }
                return (
                    type.compositeIndexes.contains(index),
                    "the composite index of \(type.name) on \(index.filter.label) by \(index.sort.label)"
                )
            }
        }
    }
}

// MARK: - Pill

/// A small badge beside a field for an index that it has or lacks.
package struct IndexBadge: ViewModel {
    package let text: String
    /// `has` or `lacks`.
    package let tone: String
    package let explanation: String

    package init(text: String, tone: String, explanation: String) {
        (self.text, self.tone, self.explanation) = (text, tone, explanation)
    }
}
