internal import Console
internal import RecordStore
internal import Records
internal import RemoteRecordStore

/// The query form as a sentence: Find … in zone … where … sort by … return …
struct QueryEditor: ViewModel {
    struct FilterRow: ViewModel {
        let number: Int
        /// `where` or `and`.
        let lead: String
        let fields: [ChoiceGroup]
        let comparators: [Choice]
        /// `nil` if no field is chosen.
        let value: Value?
        let pill: IndexBadge?
        let problem: String?
        let isRemovable: Bool
        let isLast: Bool
        /// `nil` if nothing was searched for the row.
        let found: FilterMatches?
    }

    struct Value: ViewModel {
        let text: String
        let placeholder: String
        let hint: String?
        /// The request for a value, while the row has none. The style sheet hides it during input.
        var missing: String?
        /// For a distance filter: the distance from the location, in metres.
        let distance: Distance?
        /// The address of suggestions for the name of a record; `nil` for other values.
        var names: String?
        /// True if a button searches for a record by its name or title.
        var canFind = false
    }

    struct Distance: ViewModel {
        let text: String
    }

    struct SortRow: ViewModel {
        let number: Int
        let lead: String
        let fields: [ChoiceGroup]
        let orders: [Choice]
        let origin: Distance?
        let pill: IndexBadge?
        let problem: String?
        let isRemovable: Bool
        let isLast: Bool
    }

    /// The label and the address of the submit button.
    let verb: String
    let action: String
    /// The label and the address of the second button.
    let otherVerb: String
    let otherAction: String
    let hidden: [Frame.Hidden]
    let types: [Choice]
    let zones: [Choice]
    let filters: [FilterRow]
    let sorts: [SortRow]
    let keys: DesiredKeysMenu
    let limits: [Choice]
    /// The fields whose values can be counted; empty on pages that do not count.
    let facets: [Choice]
    /// The fields whose locations can be drawn; empty on pages that do not draw.
    let maps: [Choice]
    /// The known facts about the indexes of a container in iCloud, and from where.
    let indexSources: [String]
    let written: QueryTextForm
    let saved: SavedQueryPanel
}

extension QueryEditor {
    /// - Parameters:
    ///   - explains: true if the form explains the query instead of running it.
    ///   - canFind: true if the page answers the button Find of a filter.
    ///   - found: the records that the button has found.
    init(
        _ form: QueryForm, type: RecordType, plan: CheckedQuery, explains: Bool = false, canFind: Bool = false,
        found: FilterMatches? = nil, visit: Visit
    ) {
        let place = visit.place
        let fields = QueryField.all(of: type)
        let names = visit.database.can(.listRecords) ? place.link("record/names") : nil
        let builder = QueryEditorBuilder(
            form: form, type: type, fields: fields, plan: plan, names: names, canFind: canFind && names != nil,
            found: found)
        let (query, explain) = ("\(place.path)/query", "\(place.path)/explain")
        (verb, otherVerb) = explains ? ("Explain", "Query") : ("Query", "Explain")
        (action, otherAction) = explains ? (explain, query) : (query, explain)
        hidden =
            (place.userParameters + place.pointParameters).map { Frame.Hidden(name: $0.name, value: $0.value) } + [
                Frame.Hidden(name: "of", value: type.name.string)
            ]
            + (form.showsAllColumns ? [Frame.Hidden(name: "columns", value: "all")] : [])
        var types = visit.types.map { Choice($0.name.string, $0.name.string, isSelected: $0.name == type.name) }
        if !visit.types.contains(where: { $0.name == type.name }) {
            types.append(Choice(type.name.string, type.name.string, isSelected: true))
        }
        self.types = types
        zones = visit.zoneChoices(allowsAll: place.address.scope != .public)
        filters = builder.filterRows
        sorts = builder.sortRows
        let own = fields.filter { !$0.isSystem }
        keys = DesiredKeysMenu(form.keys, of: own.map(\.name))
        limits = Set(QueryForm.limits + [form.limit]).sorted().map {
            Choice(String($0), String($0), isSelected: $0 == form.limit)
        }
        let counted = explains ? [] : fields.filter(\.canBeCounted)
        facets =
            counted.isEmpty
            ? []
            : [Choice("", "no field", isSelected: form.facet == nil)]
                + counted.map { Choice($0.name.string, $0.name.string, isSelected: form.facet == $0.name) }
        let located = explains ? [] : own.filter { $0.definition.type.valueType == .location }
        maps =
            located.isEmpty
            ? []
            : [Choice("", "no field", isSelected: form.map == nil)]
                + located.map { Choice($0.name.string, $0.name.string, isSelected: form.map == $0.name) }
        indexSources = Self.indexSources(plan.query, visit)
        written = QueryTextForm(form, type: type, visit: visit)
        saved = SavedQueryPanel(form, visit: visit)
    }
}

extension QueryEditor {
    private static func indexSources(_ query: Query, _ visit: Visit) -> [String] {
        guard let connection = visit.connection,
            let learned = try? visit.connections?.engine(of: connection)?.learnedIndexes
        else { return [] }
        return LearnedIndexes.needs(of: query).map { key, index in
            let name = QueryIndex.field(key, index).words
            switch learned.finding(index, of: key, in: query.recordType) {
            case nil: return "\(name): not known. CloudKit shows a missing index only by refusing a query"
            case let finding?:
                switch finding.source {
                case .schemaFile(let moment):
                    return
                        "\(name): \(finding.exists ? "in" : "not in") the schema file that was given \(moment.agoText(at: .now()))"
                case .refusal(let moment):
                    return "\(name): missing. iCloud refused a query for it \(moment.agoText(at: .now()))"
                }
            }
        }
    }
}

private struct QueryEditorBuilder {
    let form: QueryForm
    let type: RecordType
    let fields: [QueryField]
    let plan: CheckedQuery
    /// The address of suggestions for names of records; `nil` if records can't be listed.
    let names: String?
    let canFind: Bool
    let found: FilterMatches?

    var filterRows: [QueryEditor.FilterRow] {
        if form.filters.isEmpty {
            return [
                QueryEditor.FilterRow(
                    number: 1, lead: "where", fields: filterChoices(nil), comparators: [], value: nil, pill: nil,
                    problem: nil, isRemovable: false,
                    isLast: true, found: nil)
            ]
        }
        return form.filters.enumerated().map { index, row in
            let field = type.queryField(named: row.field)
            let comparator = row.comparator ?? field?.usualComparator
            return QueryEditor.FilterRow(
                number: index + 1, lead: index == 0 ? "where" : "and", fields: filterChoices(row.field),
                comparators: field.map { comparatorChoices($0, comparator) } ?? [],
                value: value(row, field, comparator),
                pill: field.flatMap { field in comparator.map { pill(field, $0.requiredIndexes) } },
                problem: plan.filterProblems[index],
                isRemovable: true, isLast: index == form.filters.count - 1, found: found?.row == index ? found : nil)
        }
    }

    var sortRows: [QueryEditor.SortRow] {
        if form.sorts.isEmpty {
            return [
                QueryEditor.SortRow(
                    number: 1, lead: "sort by", fields: sortChoices(nil), orders: [], origin: nil, pill: nil,
                    problem: nil, isRemovable: false,
                    isLast: true)
            ]
        }
        return form.sorts.enumerated().map { index, row in
            let field = type.queryField(named: row.field)
            let isDistance = field?.definition.type == .location
            let words = field?.orderWords ?? ("ascending", "descending")
            return QueryEditor.SortRow(
                number: index + 1, lead: index == 0 ? "sort by" : "then by", fields: sortChoices(row.field),
                orders: [
                    Choice("ascending", words.0, isSelected: !row.isDescending),
                    Choice("descending", words.1, isSelected: row.isDescending),
                ],
                origin: isDistance ? QueryEditor.Distance(text: row.origin) : nil,
                pill: field.map { pill($0, $0.sortIndex) },
                problem: plan.sortProblems[index], isRemovable: true, isLast: index == form.sorts.count - 1)
        }
    }

    private func value(_ row: QueryForm.Filter, _ field: QueryField?, _ comparator: Comparator?) -> QueryEditor.Value? {
        guard let field, let comparator else {
            return QueryEditor.Value(text: row.value, placeholder: "", hint: nil, distance: nil)
        }
        let missing =
            !row.isUnfinished
            ? nil
            : "enter a value to use this filter"
                + (field.readsAsText && !comparator.takesList ? ", or \"\" for the empty text" : "")
        let isName = field.takesRecordName(comparator)
        return QueryEditor.Value(
            text: row.value, placeholder: field.placeholder(for: comparator),
            hint: field.definition.type.valueType == .timestamp ? "UTC" : nil, missing: missing,
            distance: comparator == .near ? QueryEditor.Distance(text: row.distance) : nil,
            names: isName ? names : nil, canFind: isName && canFind)
    }

    private func filterChoices(_ selected: Name?) -> [ChoiceGroup] {
        let none = selected == nil ? [Choice("", "anything", isSelected: true)] : []
        return groups(none, selected) { field in
            field.comparators.isEmpty || field.allowedIndexes.isEmpty
                ? .never("can't be queried") : field.canFilter ? nil : .noIndex
        }
    }

    private func sortChoices(_ selected: Name?) -> [ChoiceGroup] {
        let none = [
            Choice("", selected == nil ? "record name (server’s order)" : "nothing", isSelected: selected == nil)
        ]
        return groups(none, selected) { field in
            field.canSort ? nil : field.couldSort ? .noIndex : .never("can't be sorted")
        }
    }

    private enum Obstacle {
        /// The field can be chosen: the refusal of the query offers the index.
        case noIndex
        case never(String)
    }

    /// The fields as choices. A field says why a query with it is refused. The chosen field has its mark beside it.
    private func groups(_ first: [Choice], _ selected: Name?, _ obstacle: (QueryField) -> Obstacle?) -> [ChoiceGroup] {
        func choice(_ field: QueryField) -> Choice {
            let isSelected = selected.map { type.key(named: $0) == field.key } ?? false
            let name = field.name.string
            return switch isSelected ? nil : obstacle(field) {
            case nil: Choice(name, name, isSelected: isSelected)
            case .noIndex?: Choice(name, "\(name) – no index", isSelected: false)
            case .never(let reason)?: Choice(name, "\(name) – \(reason)", isSelected: false, isDisabled: true)
            }
        }
        var own = first + fields.filter { !$0.isSystem }.map(choice)
        if let selected, type.queryField(named: selected) == nil {
            own.append(Choice(selected.string, selected.string, isSelected: true))
        }
        return [
            ChoiceGroup(label: type.name.string, choices: own),
            ChoiceGroup(label: "system fields", choices: fields.filter(\.isSystem).map(choice)),
        ]
    }

    private func comparatorChoices(_ field: QueryField, _ selected: Comparator?) -> [Choice] {
        field.comparators.map { comparator, words in
            let isChosen = comparator == selected
            let missing = comparator.requiredIndexes.intersection(field.allowedIndexes).names.joined(separator: " or ")
            if isChosen || field.allows(comparator) { return Choice(comparator.rawValue, words, isSelected: isChosen) }
            return Choice(
                comparator.rawValue, missing.isEmpty ? "\(words) – can't be indexed" : "\(words) – no \(missing) index",
                isSelected: false,
                isDisabled: missing.isEmpty)
        }
    }

    private func pill(_ field: QueryField, _ indexes: Indexes) -> IndexBadge {
        let present = field.definition.indexes.intersection(indexes)
        if !present.isEmpty {
            return IndexBadge(
                text: present.names.joined(separator: " "), tone: "has", explanation: "The index that serves this")
        }
        let possible = indexes.intersection(field.allowedIndexes)
        if possible.isEmpty {
            return IndexBadge(
                text: "can't be indexed", tone: "lacks",
                explanation: "A field of type \(field.definition.type.schemaName) can't have the index")
        }
        return IndexBadge(
            text: "no \(possible.names.joined(separator: " or ")) index", tone: "lacks",
            explanation: "The query is refused without it")
    }
}

extension QueryField {
    /// The labels of the two sort directions, according to the type.
    var orderWords: (String, String) {
        if readsAsText { return ("A to Z", "Z to A") }
        return switch definition.type.valueType {
        case .timestamp: ("oldest first", "newest first")
        case .int64, .double: ("smallest first", "largest first")
        case .location: ("nearest first", "farthest first")
        default: ("ascending", "descending")
        }
    }
}

// MARK: - Records for a filter

/// The records that the button Find of a filter has found, those of the types first to which its field refers.
/// Each is a link that sets the value of the filter and leaves the form open.
struct FilterMatches: ViewModel {
    /// The index of the filter.
    let row: Int
    let records: [Record]
    /// The records beyond the first ones; `nil` if there are none.
    let others: Others?
    /// A sentence if no record is found.
    let nothing: String?

    struct Others: ViewModel {
        /// `7 more`.
        let text: String
        let records: [Record]
    }

    /// A found record, as a link that sets the value of the filter.
    struct Record: ViewModel {
        let href: String
        let recordName: String
        let title: String?
        let type: String
    }

    /// The number of records that are seen at once.
    private static let limit = 5

    /// The name of the button. Its value is the name of the filter's row.
    static let buttonName = "find"

    /// - Returns: `nil` if the button was not pressed.
    init?(_ form: QueryForm, _ visit: Visit) async throws {
        guard let pressed = visit.fields.text(Self.buttonName), let row = form.filterIndex(pressed, visit) else {
            return nil
        }
        let zoneIDs = visit.place.zoneID.map { [$0] } ?? visit.zones.map(\.zoneID)
        let text = FilterValueReader.alone(form.filters[row].value, of: nil)
        var types: Set<Name> = []
        if let name = form.type, let type = visit.schema?.types[name] {
            types = try await ReferencedTypes.all(
                of: type.key(named: form.filters[row].field), in: name, zoneIDs: zoneIDs, visit: visit)
        }
        let found = try await RecordNames.matching(text, in: zoneIDs, preferring: types, visit: visit)
        let links = found.map { record in
            let chosen = form.changed { $0.filters[row].value = QueryForm.aloneText(record.recordName.string) }
                .parameters
            return Record(
                href: visit.place.link("query", chosen + [("draft", "1")]), recordName: record.recordName.string,
                title: record.title,
                type: record.recordType.string)
        }
        records = Array(links.prefix(Self.limit))
        let left = Array(links.dropFirst(Self.limit))
        others = left.isEmpty ? nil : Others(text: "\(left.count) more", records: left)
        nothing = records.isEmpty ? RecordNames.nothing(for: text) : nil
        self.row = row
    }
}

extension QueryField {
    /// True if a filter on the field has the name of a record as its value.
    func takesRecordName(_ comparator: Comparator) -> Bool {
        guard definition.type.valueType == .reference, !comparator.takesList else { return false }
        if case .system(let system) = key { return system == .recordID || system == .parent }
        return true
    }
}

/// The record types to which a field of a type refers, according to some of its records.
enum ReferencedTypes {
    /// The limits of the reading: records of all types, and different targets.
    private static let readLimit = 2000
    private static let targetLimit = 20
    private static let pageLimit = PageLimit(records: 500, bytes: 4 << 20)

    /// - Returns: nothing if the records that were read do not tell.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    static func all(of key: FieldKey?, in recordType: Name, zoneIDs: [ZoneID], visit: Visit) async throws -> Set<Name> {
        guard let key, visit.database.can(.listRecords) else { return [] }
        if case .system(.recordID) = key { return [recordType] }
        let targets = try await targets(of: key, in: recordType, zoneIDs: zoneIDs, visit: visit)
        if targets.isEmpty { return [] }
        let found = try await visit.measure { try await visit.database.fetch(Array(targets), desiredKeys: []) }
        return Set(found.compactMap { try? $0.get().recordType })
    }

    private static func targets(of key: FieldKey, in recordType: Name, zoneIDs: [ZoneID], visit: Visit) async throws
        -> Set<RecordID>
    {
        var targets: Set<RecordID> = []
        var count = 0
        for zoneID in zoneIDs {
            var last: Name?
            repeat {
                let request = RecordListRequest(zoneID, after: last, limit: pageLimit)
                let page: RecordListPage
                do {
                    page = try await visit.measure { try await visit.database.require(.listRecords).list(request) }
                } catch let error as RecordError where error.code == .zoneNotFound {
                    break
                }
                for record in page.records where record.recordType == recordType {
                    try targets.formUnion(record.targets(of: key))
                    if targets.count >= targetLimit { return targets }
                }
                count += page.records.count
                last = page.last
                if count >= readLimit { return targets }
            } while last != nil
        }
        return targets
    }
}

extension StoredRecord {
    fileprivate func targets(of key: FieldKey) throws -> [RecordID] {
        switch key {
        case .system(.parent): parent.map { [RecordID(recordName: $0, zoneID: recordID.zoneID)] } ?? []
        case .system: []
        case .custom(let name): try fields.values(of: [name])[name]?.targets(from: recordID.zoneID, limit: 1) ?? []
        }
    }
}
