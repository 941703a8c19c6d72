public import Records
internal import JSON

extension ResolvedQuery {
    /// True if the record satisfies all filters.
    public func matches(_ record: QueriedRecord) -> Bool {
        filters.allSatisfy { $0.matches(record.value(of: $0.key)) }
    }
}

extension ResolvedQuery.Filter {
    /// True if the value satisfies the filter.
    ///
    /// A missing value satisfies no positive comparator and every negated one: NOT_X is exactly 'not X'.
    public func matches(_ value: FieldValue?) -> Bool {
        if let denied = comparator.denied { return !affirms(denied, value) }
        return affirms(comparator, value)
    }

    private func affirms(_ comparator: Comparator, _ value: FieldValue?) -> Bool {
        guard let value else { return false }
        return switch operand {
        case .value(let operand): affirms(comparator, value, operand)
        case .anyOf(let candidates):
            switch comparator {
            case .listContainsAll: candidates.allSatisfy { candidate in value.elements.contains { ValueOrder.equal($0, candidate) } }
            default: candidates.contains { candidate in value.elements.contains { ValueOrder.equal($0, candidate) } }
            }
        case .tokens(let tokens):
            if case .string(let text) = value { contains(tokens, in: text) } else { false }
        case .near(let location, let metres):
            if case .location(let place) = value { location.distance(to: place) <= metres } else { false }
        }
    }

    private func affirms(_ comparator: Comparator, _ value: FieldValue, _ operand: FieldValue) -> Bool {
        switch comparator {
        case .equals: ValueOrder.equal(value, operand)
        case .lessThan: ValueOrder.compare(value, operand) < 0
        case .lessThanOrEquals: ValueOrder.compare(value, operand) <= 0
        case .greaterThan: ValueOrder.compare(value, operand) > 0
        case .greaterThanOrEquals: ValueOrder.compare(value, operand) >= 0
        case .listContains: value.elements.contains { ValueOrder.equal($0, operand) }
        case .beginsWith, .listMemberBeginsWith:
            value.elements.contains { $0.name.hasPrefix(operand.name) }
        default: false
        }
    }

    private func contains(_ tokens: [String], in text: String) -> Bool {
        if tokens.isEmpty { return false }
        let words = Set(Tokenizer.tokens(of: text).map { Name($0) })
        return comparator == .containsAllTokens ? tokens.allSatisfy { words.contains(Name($0)) } : tokens.contains { words.contains(Name($0)) }
    }
}

extension FieldValue {
    /// The text used to compare prefixes.
    fileprivate var name: Name {
        switch self {
        case .string(let string): Name(string)
        case .reference(let reference): reference.recordName
        default: ""
        }
    }
}
