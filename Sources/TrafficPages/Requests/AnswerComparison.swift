internal import Console
internal import JSON

/// A line-by-line comparison of two answers.
struct AnswerComparison: ViewModel {
    struct Line: ViewModel {
        let before: String
        let after: String
        /// `same`, `changed`, `removed` or `added`.
        let kind: String

        func child(named name: String) -> Any? {
            switch name {
            case "before": before
            case "after": after
            case "kind": kind
            default: nil
            }
        }
    }

    let lines: [Line]
    let differences: Int
    /// True if equal lines before the first difference and after the last one are omitted.
    let isShortened: Bool

    /// The number of equal lines to show around differences.
    private static let context = 12
    /// The maximum number of lines per side for the common subsequence search. Longer stretches are paired line by line.
    private static let limit = 1500
    /// The maximum number of lines to show.
    private static let shown = 2000

    init(_ before: String, _ after: String) {
        let left = before.split(separator: "\n", omittingEmptySubsequences: false).map { Name($0) }
        let right = after.split(separator: "\n", omittingEmptySubsequences: false).map { Name($0) }
        var prefix = 0
        while prefix < min(left.count, right.count), left[prefix] == right[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < min(left.count, right.count) - prefix, left[left.count - 1 - suffix] == right[right.count - 1 - suffix] { suffix += 1 }
        let middle = Self.lines(Array(left[prefix..<left.count - suffix]), Array(right[prefix..<right.count - suffix]))
        differences = middle.count { $0.kind != "same" }
        let hasDifferences = differences > 0
        let first = hasDifferences ? max(0, prefix - Self.context) : 0
        let last = hasDifferences ? min(suffix, Self.context) : suffix
        let all =
            left[first..<prefix].map { Line(before: $0.string, after: $0.string, kind: "same") } + middle
            + left[(left.count - suffix)...].prefix(last).map { Line(before: $0.string, after: $0.string, kind: "same") }
        lines = Array(all.prefix(Self.shown))
        isShortened = first > 0 || last < suffix || all.count > Self.shown
    }

    /// The lines of two stretches, with common lines side by side.
    private static func lines(_ left: [Name], _ right: [Name]) -> [Line] {
        guard left.count <= limit, right.count <= limit else { return paired(left, right) }
        // Numbers make the many comparisons cheap. Equal lines have equal numbers.
        var numbers: [Name: Int32] = [:]
        func number(_ line: Name) -> Int32 {
            if let number = numbers[line] { return number }
            numbers[line] = Int32(numbers.count)
            return Int32(numbers.count - 1)
        }
        let (leftNumbers, rightNumbers) = (left.map { number($0) }, right.map { number($0) })
        // The length of the longest common subsequence from each pair of positions to the end.
        let width = right.count + 1
        var lengths = [Int32](repeating: 0, count: (left.count + 1) * width)
        for row in left.indices.reversed() {
            for column in right.indices.reversed() {
                lengths[row * width + column] =
                    leftNumbers[row] == rightNumbers[column]
                    ? lengths[(row + 1) * width + column + 1] + 1
                    : max(lengths[(row + 1) * width + column], lengths[row * width + column + 1])
            }
        }
        var lines: [Line] = []
        var (row, column) = (0, 0)
        var (removed, added): ([Name], [Name]) = ([], [])
        while row < left.count || column < right.count {
            if row < left.count, column < right.count, leftNumbers[row] == rightNumbers[column] {
                lines += paired(removed, added)
                (removed, added) = ([], [])
                lines.append(Line(before: left[row].string, after: right[column].string, kind: "same"))
                (row, column) = (row + 1, column + 1)
            } else if column == right.count || row < left.count && lengths[(row + 1) * width + column] >= lengths[row * width + column + 1] {
                removed.append(left[row])
                row += 1
            } else {
                added.append(right[column])
                column += 1
            }
        }
        return lines + paired(removed, added)
    }

    /// Pairs differing lines in order.
    private static func paired(_ left: [Name], _ right: [Name]) -> [Line] {
        (0..<max(left.count, right.count)).map { index in
            let before = index < left.count ? left[index].string : nil
            let after = index < right.count ? right[index].string : nil
            return Line(before: before ?? "", after: after ?? "", kind: before == nil ? "added" : after == nil ? "removed" : "changed")
        }
    }
}
