package import JSON
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
        return IndexWorks(builds: try await measure { try await database.indexBuilds() })
    }
}
