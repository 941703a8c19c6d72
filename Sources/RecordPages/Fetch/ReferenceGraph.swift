internal import Console
internal import RecordStore
internal import Records

/// The records around a record as a drawing: those that refer to it at the left, those that it refers to at the right.
/// The arrows point to the target.
struct ReferenceGraph: ViewModel {
    struct Node: ViewModel {
        let x: Int
        let y: Int
        /// The title of the record, or its name.
        let name: String
        let hasTitle: Bool
        /// The field, and the type of the record.
        let note: String
        /// The whole title and name, and its part in the reference.
        let tip: String
        let href: String
        /// `field`, `parent`, `share`, `missing` for a record that is not found, or `itself`.
        let tone: String
    }

    struct Edge: ViewModel {
        let line: String
        let head: String
        let tone: String
    }

    /// A remark about the records of one side that are not drawn.
    struct Rest: ViewModel {
        let x: Int
        let text: String
    }

    let label: String
    let height: Int
    let edges: [Edge]
    let nodes: [Node]
    let rests: [Rest]
    /// The vertical position of the remarks.
    let restY: Int

    /// The maximum number of records on a side.
    private static let limit = 8
    /// The left edges of the columns, the size of a box, and the distance between the tops of two boxes, in units of
    /// the drawing.
    private static let (left, middle, right) = (0, 325, 650)
    private static let (width, boxHeight, pitch) = (250, 38, 48)
    /// The number of characters that fit into a box.
    private static let (nameLength, noteLength) = (31, 38)
}

extension ReferenceGraph {
    /// One record beside the record.
    private struct Neighbour {
        let recordID: RecordID
        var fields: [String]
        var type: String?
        var tone: String
        /// The part of the reference in words.
        let words: String
    }

    /// - Parameters:
    ///   - referrers: the references to the record; empty if the engine can't tell.
    /// - Returns: `nil` for a record without references.
    init?(_ record: StoredRecord, _ fields: [Field], referrers: [Referrer], _ titles: ReferencedTitles, _ visit: Visit)
        async throws
    {
        let zoneID = record.recordID.zoneID
        var (before, after) = (Self.referrers(referrers, in: zoneID), Self.targets(of: record, fields))
        if before.isEmpty, after.isEmpty { return nil }
        let counted = referrers.prefix(ReferrerPanel.countLimit)
        let counts = (before: Set(counted.map(\.recordName)).count, after: after.count)
        (before, after) = (Array(before.prefix(Self.limit)), Array(after.prefix(Self.limit)))
        try await Self.lookUp(&after, visit)
        let rows = max(before.count, after.count)
        let base = rows * Self.pitch - (Self.pitch - Self.boxHeight)
        let centre = base / 2
        func top(_ index: Int, of count: Int) -> Int {
            centre - (count * Self.pitch - (Self.pitch - Self.boxHeight)) / 2 + index * Self.pitch
        }
        var (nodes, edges): ([Node], [Edge]) = ([], [])
        for (index, neighbour) in before.enumerated() {
            let y = top(index, of: before.count)
            nodes.append(Self.node(neighbour, x: Self.left, y: y, titles, visit))
            edges.append(
                Edge(
                    from: (Self.left + Self.width, y + Self.boxHeight / 2), to: (Self.middle, centre),
                    tone: neighbour.tone))
        }
        for (index, neighbour) in after.enumerated() {
            let y = top(index, of: after.count)
            nodes.append(Self.node(neighbour, x: Self.right, y: y, titles, visit))
            edges.append(
                Edge(
                    from: (Self.middle + Self.width, centre), to: (Self.right, y + Self.boxHeight / 2),
                    tone: neighbour.tone))
        }
        let itself = Neighbour(
            recordID: record.recordID, fields: [], type: record.recordType.string, tone: "itself", words: "this record")
        nodes.append(Self.node(itself, x: Self.middle, y: centre - Self.boxHeight / 2, titles, visit))
        (self.nodes, self.edges) = (nodes, edges)
        // The references that were looked for may themselves be only the first ones.
        let isCutOff = referrers.count > counted.count
        rests = [(Self.left, counts.before - before.count, isCutOff), (Self.right, counts.after - after.count, false)]
            .compactMap { x, count, isCutOff in
                count > 0
                    ? Rest(x: x, text: "and \(Digits.count(count, "more record"))\(isCutOff ? ", or more" : "")") : nil
            }
        restY = base + 18
        height = base + (rests.isEmpty ? 4 : 30)
        label =
            "References: from \(Digits.count(counts.before, "record"))\(isCutOff ? " or more" : ""), to \(Digits.count(counts.after, "record"))"
    }

    private static func referrers(_ referrers: [Referrer], in zoneID: ZoneID) -> [Neighbour] {
        var found: [Neighbour] = []
        var known: [Name: Int] = [:]
        for referrer in referrers.prefix(ReferrerPanel.limit) {
            let isParent = referrer.fieldName == SystemField.parent.schemaName
            let field = isParent ? "parent" : referrer.fieldName.string
            if let index = known[referrer.recordName] {
                found[index].fields.append(field)
                if isParent { found[index].tone = "parent" }
                continue
            }
            known[referrer.recordName] = found.count
            found.append(
                Neighbour(
                    recordID: RecordID(recordName: referrer.recordName, zoneID: zoneID), fields: [field],
                    type: referrer.recordType.string,
                    tone: isParent ? "parent" : "field",
                    words: isParent ? "a child of this record" : "refers to this record"))
        }
        // Children are few and matter most.
        return found.filter { $0.tone == "parent" } + found.filter { $0.tone != "parent" }
    }

    /// The parent, the share and the targets of the fields, in this order.
    private static func targets(of record: StoredRecord, _ fields: [Field]) -> [Neighbour] {
        let zoneID = record.recordID.zoneID
        var found: [Neighbour] = []
        var known: [RecordID: Int] = [:]
        if let parent = record.parent {
            known[RecordID(recordName: parent, zoneID: zoneID)] = found.count
            found.append(
                Neighbour(
                    recordID: RecordID(recordName: parent, zoneID: zoneID), fields: ["parent"], type: nil,
                    tone: "parent", words: "the parent of this record"))
        }
        if let share = record.sharing?.shareName {
            found.append(
                Neighbour(
                    recordID: RecordID(recordName: share, zoneID: zoneID), fields: ["share"], type: nil, tone: "share",
                    words: "the share of this record"))
        }
        for field in fields {
            for reference in field.value.references {
                let recordID = RecordID(recordName: reference.recordName, zoneID: reference.zoneID ?? zoneID)
                if let index = known[recordID] {
                    if found[index].fields.last != field.name.string { found[index].fields.append(field.name.string) }
                    continue
                }
                known[recordID] = found.count
                found.append(
                    Neighbour(
                        recordID: recordID, fields: [field.name.string], type: nil, tone: "field",
                        words: "this record refers to it (\(reference.action.rawValue))"))
            }
        }
        return found
    }

    /// The note of a target that is not found. A guest sees only records of the share.
    private static func absence(_ visit: Visit) -> String {
        visit.place.address.scope == .shared ? "not shared" : "missing"
    }

    /// Adds the types of the targets, and marks those that are not found. A container in iCloud is not asked.
    private static func lookUp(_ targets: inout [Neighbour], _ visit: Visit) async throws {
        if visit.connection != nil || targets.isEmpty { return }
        let names = targets.map(\.recordID)
        let results: [Result<StoredRecord, RecordError>]
        do {
            results = try await visit.measure { try await visit.database.fetch(names, desiredKeys: []) }
        } catch is RecordError { return }
        for (index, result) in zip(targets.indices, results) {
            switch result {
            case .success(let record): targets[index].type = record.recordType.string
            case .failure(let error) where error.code == .notFound || error.code == .zoneNotFound:
                (targets[index].type, targets[index].tone) = (absence(visit), "missing")
            case .failure: continue
            }
        }
    }

    private static func node(_ neighbour: Neighbour, x: Int, y: Int, _ titles: ReferencedTitles, _ visit: Visit) -> Node
    {
        let (name, fields) = (neighbour.recordID.recordName.string, neighbour.fields.joined(separator: ", "))
        let title = titles[neighbour.recordID]
        let note = [fields, neighbour.type ?? ""].filter { !$0.isEmpty }.joined(separator: " · ")
        return Node(
            x: x, y: y, name: shortened(title ?? name, to: nameLength), hasTitle: title != nil,
            note: shortened(note, to: noteLength),
            tip:
                "\(title.map { "\($0), " } ?? "")\(name): \(neighbour.words)\(fields.isEmpty ? "" : ", \(fields)")\(neighbour.tone == "missing" ? ", but it is \(absence(visit))" : "")",
            href: visit.place.link(toRecord: neighbour.recordID.recordName, in: neighbour.recordID.zoneID) + "#around",
            tone: neighbour.tone)
    }

    private static func shortened(_ text: String, to length: Int) -> String {
        text.count > length ? text.prefix(length - 1) + "…" : text
    }
}

extension ReferenceGraph.Edge {
    /// A curve from the right side of one box to the left side of another.
    fileprivate init(from start: (x: Int, y: Int), to end: (x: Int, y: Int), tone: String) {
        let bend = (start.x + end.x) / 2
        line = "M\(start.x) \(start.y)C\(bend) \(start.y) \(bend) \(end.y) \(end.x - 7) \(end.y)"
        head = "M\(end.x) \(end.y)l-9-4v8z"
        self.tone = tone
    }
}
