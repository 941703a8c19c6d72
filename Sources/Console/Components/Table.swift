/// A table: a row for each thing. The first cell of a row names the thing.
package struct Table: Component {
    package static let template = "table"

    package enum Style: String, Sendable {
        /// Ended rows are struck through.
        case credentials
        /// Tablets show each row as a card, as phones do with every table.
        case cards = "usertable"
        case narrow, operations, stored, differing
        /// Fields with a box for each index.
        case indexes
        case composites = "narrow composites"
    }

    package struct Column: ViewModel, ExpressibleByStringLiteral {
        let title: String
        /// The class of the column's cells, and of its head for numbers.
        let style: String?
        let headStyle: String?
        /// True for a title that is for screen readers alone.
        let isHidden: Bool

        private init(_ title: String, style: String? = nil, headStyle: String? = nil, isHidden: Bool = false) {
            (self.title, self.style, self.headStyle, self.isHidden) = (title, style, headStyle, isHidden)
        }

        package init(stringLiteral title: String) { self.init(title) }

        package static func column(_ title: String, _ style: String? = nil) -> Column { Column(title, style: style) }

        package static func number(_ title: String) -> Column { Column(title, style: "num", headStyle: "num") }

        /// The column of boxes, or of ticks.
        package static func boxes(_ title: String) -> Column { Column(title, style: "index", headStyle: "index") }

        /// A column whose cells need no title, such as that of links and buttons.
        package static func actions(_ title: String = "actions", _ style: String? = nil) -> Column {
            Column(title, style: style, isHidden: true)
        }
    }

    package struct Row: ViewModel {
        package enum Mark: String, Sendable {
            /// For what is revoked or expired.
            case ended = "revoked"
            /// For the last row, with the sums of the others.
            case sum
            /// For what is used, among what might be.
            case used
        }

        let style: String?
        /// What a filter of the page looks for, in lowercase.
        package let words: String?
        var cells: [Cell]

        /// - Parameter head: the index of the cell that names the row.
        package init(_ cells: [Inline], _ mark: Mark? = nil, head: Int = 0, words: String? = nil) {
            (style, self.words) = (mark?.rawValue, words)
            self.cells = cells.enumerated().map { Cell(content: $1, isHead: $0 == head) }
        }
    }

    /// Rows of a kind, under a heading.
    package struct Group: ViewModel {
        let title: Inline?
        var rows: [Row]
        /// A remark about rows that are left out.
        let more: String?

        package init(_ title: Inline?, _ rows: [Row], more: String? = nil) {
            (self.title, self.rows, self.more) = (title, rows, more)
        }
    }

    struct Cell: ViewModel {
        let content: Inline
        let isHead: Bool
        var style: String?
        /// The column's title, for small windows, which show rows as cards.
        var title: String?

        func child(named name: String) -> Any? {
            switch name {
            case "spans": content.spans
            case "isHead": isHead
            case "style": style ?? Absent()
            case "title": title ?? Absent()
            default: nil
            }
        }
    }

    /// What the rows are, for screen readers.
    let label: String
    let style: String?
    let columns: [Column]
    let groups: [Group]
    let isEmpty: Bool
    /// The number of columns.
    let span: String
    /// What is shown in place of a table without rows.
    let nothing: EmptyState?
    /// What a filter of the page says if no row is left.
    let noMatch: String?
    /// A remark about rows that are left out.
    let more: String?

    package init(
        _ label: String, style: Style? = nil, _ columns: [Column], _ rows: [Row], nothing: EmptyState? = nil,
        noMatch: String? = nil, more: String? = nil
    ) {
        self.init(
            label, style: style, columns, groups: [Group(nil, rows)], nothing: nothing, noMatch: noMatch, more: more)
    }

    package init(
        _ label: String, style: Style? = nil, _ columns: [Column], groups: [Group], nothing: EmptyState? = nil,
        noMatch: String? = nil, more: String? = nil
    ) {
        (self.label, self.columns, self.nothing, self.noMatch, self.more) = (label, columns, nothing, noMatch, more)
        (self.style, span) = (style?.rawValue, String(columns.count))
        isEmpty = groups.allSatisfy { $0.rows.isEmpty && $0.more == nil }
        self.groups = groups.map { group in
            var group = group
            for row in group.rows.indices {
                for (index, column) in zip(group.rows[row].cells.indices, columns) {
                    group.rows[row].cells[index].style = column.style
                    group.rows[row].cells[index].title =
                        column.isHidden && column.style != "index" ? nil : column.title
                }
            }
            return group
        }
    }
}

/// What is shown where there is nothing yet: what would be there, and the next step.
package struct EmptyState: Component {
    package static let template = "empty_state"

    let title: String?
    let text: Inline?

    package init(_ title: String, _ text: Inline? = nil) { (self.title, self.text) = (title, text) }

    /// One sentence, for a part of a page.
    package init(sentence: Inline) { (title, text) = (nil, sentence) }
}

// MARK: - Facts

/// Names and values.
package struct Facts: Component {
    package static let template = "facts"

    package struct Fact: ViewModel {
        let name: Inline
        let value: Inline

        package init(_ name: Inline, _ value: Inline) { (self.name, self.value) = (name, value) }
    }

    let style: String?
    let facts: [Fact]

    package init(style: String? = nil, _ facts: [Fact]) { (self.style, self.facts) = (style, facts) }
}

/// How much of a limit is used.
package struct Gauge: Component {
    package static let template = "gauge"

    let label: String
    let used: String
    let maximum: String

    package init(_ label: String, used: Int, of maximum: Int) {
        (self.label, self.used, self.maximum) = (label, String(used), String(maximum))
    }
}
