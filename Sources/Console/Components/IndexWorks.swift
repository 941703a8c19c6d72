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
package struct IndexWorkPanel: ViewModel {
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

/// The notice about indexes that were just added. The URL names them, and the notice tells only those that the schema
/// has, so that a link can't put other text on the page.
package enum AddedIndexes {
    /// The field of a form whose next page has the notice.
    package static let formField = "tell"
    private static let word = "indexes-added"

    /// The address with the notice.
    package static func address(_ address: String, telling added: [(key: FieldKey, indexes: Indexes)]) -> String {
        let texts = added.flatMap { key, indexes in indexes.names.map { "\(key.schemaName):\($0)" } }
        return
            "\(address)\(address.contains("?") ? "&" : "?")notice=\(PercentEncoding.encoded(([word] + texts).joined(separator: " ")))"
    }

    /// - Parameter notice: the parameter `notice` of the URL.
    /// - Returns: `nil` if it is another notice, or the type has no such index.
    package static func text(_ notice: String?, type: RecordType?, in environment: Records.Environment) -> String? {
        guard let notice, let type else { return nil }
        let parts = notice.split(separator: " ")
        guard parts.first == Substring(word) else { return nil }
        let added = parts.dropFirst().compactMap { part -> String? in
            let words = part.split(separator: ":", maxSplits: 1)
            guard words.count == 2, let index = Indexes(name: String(words[1])) else { return nil }
            let key = FieldKey(schemaName: Name(String(words[0])))
            guard type.definition(of: key)?.indexes.isSuperset(of: index) ?? false else { return nil }
            return "\(words[1]) to \(type.name).\(key.label)"
        }
        return added.isEmpty ? nil : "Added \(added.joined(separator: ", ")) in \(environment.rawValue)."
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
