package import Console
internal import RecordStore
internal import Records

/// The page Query advice: unused indexes, and queries that need a missing index.
package enum AdviceView {
    /// The number of served queries from which the page calls indexes unused.
    private static let telling = 100

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let statistics = try await visit.measure {
            try await visit.database.require(.keepQueryStatistics).queryStatistics()
        }
        let schema = visit.schema ?? Schema()
        let works = try await visit.indexWorks()
        let uses = Dictionary(
            statistics.uses.map { (IndexOfType(typeName: $0.recordType, index: $0.index), $0) },
            uniquingKeysWith: { first, _ in first })
        let places = IndexOfType.all(in: schema)
        let unused = places.filter { uses[$0] == nil }
        let used = places.compactMap { place in uses[place].map { (place, $0) } }.sorted {
            ($1.1.count, $0.0) < ($0.1.count, $1.0)
        }
        let isEarly = statistics.queries < telling && !unused.isEmpty
        let count = Digits.count(unused.count, "unused index", plural: "unused indexes")
        var parts: [any Component] = [
            Section(
                "refused", "Recently refused queries",
                [
                    Table(
                        "Queries, and the indexes that they need",
                        [
                            .column("query", "wide"), .column("why it was refused", "wide"), "index it needs",
                            "refused",
                            "asked by",
                        ], statistics.refusals.map { row($0, in: schema, works, visit) },
                        nothing: EmptyState(sentence: "No query was refused for a missing index."))
                ])
        ]
        let list = self.unused(unused, visit)
        if isEarly {
            let served = Digits.count(statistics.queries, "query", plural: "queries")
            let early = Paragraph.faint(
                "So far, indexes have served \(served). After \(String(telling)), this page lists the indexes that no query used."
            )
            parts.append(
                Section(
                    "unused", "Unused indexes",
                    [early, Fold("\(count) so far", style: "early", isOpen: false, list)]))
        } else {
            parts.append(Section("unused", "Unused indexes", list))
        }
        if !used.isEmpty {
            let rows = used.map { place, use in
                Table.Row(place.cells(visit) + [Inline(Digits.grouped(use.count)), .time(use.last)])
            }
            parts.append(
                Section(
                    "used", "Indexes in use",
                    [Table("Indexes and their queries", ["type", "index", .number("queries"), "last"], rows)]))
        }
        return ComponentPage(
            .advice,
            PageHead(
                Tab.advice.title,
                [
                    "The indexes that queries of all users needed and used since the server opened this environment: \(.time(statistics.since)). Queries in this console count too."
                ]), parts, foot: PageFooter(count: statistics.queries < telling ? nil : count))
    }

    private static func unused(_ unused: [IndexOfType], _ visit: Visit) -> [any Component] {
        if unused.isEmpty { return [Paragraph.faint("Every index was used.")] }
        let isProduction = visit.place.address.environment == .production
        return [
            Paragraph.faint(
                "Every index takes space and slows saves a little. Before you delete one, make sure that the app's rare queries ran too.\(isProduction ? " Production indexes change only by deployment." : "")"
            ),
            Table(
                "Indexes that no query used", ["type", "index", .actions("delete")],
                unused.map { place in
                    Table.Row(place.cells(visit) + [deletion(of: place, visit).map { Inline.part($0) } ?? ""])
                }),
        ]
    }

    private static func row(
        _ refusal: QueryStatistics.Refusal, in schema: Schema, _ works: IndexWorks, _ visit: Visit
    ) -> Table.Row {
        let type = schema.types[refusal.query.recordType]
        let sentence = QuerySentence.text(of: refusal.query, type: type)
        let missing = IndexNeeds(refusal.problems, of: refusal.query, type: type, building: works.builds)
        let isBuilding = refusal.problems.allSatisfy { if case .indexBeingBuilt = $0 { true } else { false } }
        var needs: Inline = isBuilding ? .badge("being built") : ""
        if missing.count > 0 {
            needs = needs + .part(Paragraph(Inline(missing.text)))
            if visit.canEditSchema {
                let button = missing.count == 1 ? "Add the index" : "Add \(missing.count) indexes"
                let names = [("type", refusal.query.recordType.string), ("back", visit.place.link("advice"))]
                needs =
                    needs
                    + .part(
                        Form(
                            .line, visit.place.link("type/indexes"),
                            hidden: names.map { Frame.Hidden(name: $0, value: $1) } + missing.fields, [],
                            button: button, buttonLabel: "\(button): \(sentence)"))
            }
        } else if !isBuilding {
            needs = .faint("no index helps")
        }
        return Table.Row([
            // The form of queries can't express each of them.
            QueryForm(refusal.query, of: type).map { .link(sentence, visit.place.link("query", $0.parameters)) }
                ?? Inline(sentence),
            .part(Listing(refusal.problems.map { Inline($0.error.reason) })), needs,
            "\(Digits.count(refusal.count, "time")), last \(.time(refusal.last))",
            Inline(visit.people.name(of: refusal.userRecordName)),
        ])
    }

    /// The button that deletes an index; `nil` if this can't be done here.
    private static func deletion(of place: IndexOfType, _ visit: Visit) -> Form? {
        let (action, value): (String, String)
        switch place.index {
        case .field(let key, let indexes):
            guard visit.canEditSchema, let name = indexes.names.first else { return nil }
            (action, value) = ("type/indexes", "\(key.schemaName):\(name)")
        case .composite(let index):
            guard visit.database.can(.editSchema) else { return nil }
            (action, value) = (
                "composites/change", "\(place.typeName)/\(index.filter.schemaName):\(index.sort.schemaName)"
            )
        case .recordNames: return nil
        }
        return Form(
            .line, visit.place.link(action),
            hidden: [
                Frame.Hidden(name: "type", value: place.typeName.string), Frame.Hidden(name: "drop", value: value),
                Frame.Hidden(name: "back", value: visit.place.link("advice")),
            ], [], button: "Delete", buttonLabel: "Delete \(place.index.words) of \(place.typeName)")
    }
}

/// One index of one type.
private struct IndexOfType: Hashable, Comparable {
    let typeName: Name
    let index: QueryIndex

    static func all(in schema: Schema) -> [IndexOfType] {
        schema.sortedTypes.filter { $0.name != Schema.usersType }.flatMap { type in
            let fields = type.indexedKeys.flatMap { key in
                (type.definition(of: key)?.indexes.names ?? []).compactMap { Indexes(name: $0) }.map {
                    QueryIndex.field(key, $0)
                }
            }
            let composites = type.compositeIndexes.map { QueryIndex.composite($0) }.sorted {
                Name($0.words) < Name($1.description)
            }
            return (fields + composites).map { IndexOfType(typeName: type.name, index: $0) }
        }
    }

    func cells(_ visit: Visit) -> [Inline] {
        [.link(typeName.string, visit.place.link("type", [("type", typeName.string)])), Inline(index.words)]
    }

    static func < (left: IndexOfType, right: IndexOfType) -> Bool {
        (left.typeName, Name(left.index.words)) < (right.typeName, Name(right.index.words))
    }
}
