package security

import "bytes"

// ParseAnalyzer reads an analyzer by its kind; null gives nil. Errors are of
// kind fault.Invalid.
func ParseAnalyzer(raw []byte) (Analyzer, error) {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil, nil
	}
	return parseAnalyzer(raw, 0)
}

func parseAnalyzer(raw []byte, depth int) (Analyzer, error) {
	kind, err := kindOf(raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "LLMSecurityAnalyzer":
		return Model{}, nil
	case "PatternSecurityAnalyzer":
		return parsePatterns(raw)
	case "PolicyRailSecurityAnalyzer":
		return Rails{}, nil
	case "EnsembleSecurityAnalyzer":
		return parseEnsemble(raw, depth)
	case graySwanKind:
		return parseGraySwan(raw)
	case toolShieldKind:
		return parseToolShield(raw)
	case invariantKind:
		return parseInvariant(raw)
	case httpKind:
		return parseHTTP(raw)
	}
	return nil, unknownKind(kind, "analyzer.SecurityAnalyzerBase", "'PatternSecurityAnalyzer', 'PolicyRailSecurityAnalyzer', "+
		"'EnsembleSecurityAnalyzer', 'GraySwanAnalyzer', 'LLMSecurityAnalyzer', 'ToolShieldLLMSecurityAnalyzer', 'InvariantAnalyzer', 'HTTPSecurityAnalyzer'")
}
