internal import JSON
internal import RecordStore
internal import Records

/// What is being done to indexes in the background.
struct IndexWorks: Sendable {
    let builds: [IndexBuildProgress]

    /// Such as `building, 43 %`, for an index of a field.
    func words(of index: Indexes, on key: FieldKey, in typeName: Name) -> String? {
        builds.first { build in
            guard build.recordType == typeName, case .field(key, let indexes) = build.subject else { return false }
            return indexes.contains(index)
        }?.words
    }

    func words(of composite: CompositeIndex, in typeName: Name) -> String? {
        builds.first { $0.recordType == typeName && $0.subject == .composite(composite) }?.words
    }

    /// A bar for each of them; `nil` when nothing is under way.
    var panel: IndexWorkPanel? {
        builds.isEmpty ? nil : IndexWorkPanel(rows: builds.map { IndexWorkPanel.Row($0) })
    }
}

/// How far the work on indexes is.
struct IndexWorkPanel: ViewModel {
    struct Row: ViewModel {
        let typeName: String
        let what: String
        /// `building` or `removing`.
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
        verb = build.work == .building ? "building" : "removing"
        percent = String(build.percent)
        let noun = build.work == .building ? "records" : "entries"
        count = "\(Digits.grouped(build.done)) of \(Digits.grouped(max(build.total, build.done))) \(noun)"
    }
}

extension IndexBuildProgress {
    fileprivate var words: String {
        work == .building ? "building, \(percent) %" : "being removed, \(percent) %"
    }
}

extension Visit {
    /// What the engine does to indexes at the moment.
    func indexWorks() async throws -> IndexWorks {
        guard let editing = database as? any SchemaEditing else { return IndexWorks(builds: []) }
        return IndexWorks(builds: try await measure { try await editing.indexBuilds() })
    }
}
